"""Speech segments: spans, and the sweep over two sides; and the sound of a clip without speech."""
