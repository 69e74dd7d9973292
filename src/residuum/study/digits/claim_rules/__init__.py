"""How claims of the paper about digits are decided: rules in rooms of their own."""
