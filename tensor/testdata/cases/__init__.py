"""Lists of cases, by family. A module takes operands of those before it."""
