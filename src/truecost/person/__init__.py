"""A person answers: the page, what it stores, the seconds that an answer took."""
