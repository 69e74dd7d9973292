"""Rules that relate members of open domains: members, rows, and what the slots of rules read."""
