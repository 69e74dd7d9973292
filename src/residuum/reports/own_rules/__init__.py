"""The report about a user's own rules: what they say, where they are broken, and what helps."""
