"""Pictures, tables and the HTML page, all drawn from an outcome."""
