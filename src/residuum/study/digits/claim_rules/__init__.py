"""How claims of the paper are decided: rules, functions of records and of what is claimed."""
