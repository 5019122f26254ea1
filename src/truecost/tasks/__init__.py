"""Tasks turn records into evidence."""
