"""Data beyond memory and beyond one machine: jobs on partitions of the data, and sorted segments on
disk.

- `mapping`: the place of jobs: threads, processes, or the workers of Ray; results in their order;
- `partitions`: stretches of rows of files, which depend on the data and never on the workers;
- `segments`: count each partition, merge the labels, sort range by range, open as memory maps.
"""
