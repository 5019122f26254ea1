"""Past memory and past one machine: jobs on partitions of the data, and sorted segments on disk.

- `mapping`: where jobs run: threads, processes, or the workers of Ray; results in their order;
- `partitions`: stretches of rows of files, which come from the data and never from the workers;
- `labels`: the labels of all parts, and what their codes become;
- `segments`: count each partition, merge what they hold, sort range by range, open as memory maps.
"""
