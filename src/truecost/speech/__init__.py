"""Who speaks when: spans, and the sweep over two sides; and what a clip sounds like."""
