"""How far privacy noise moves an answer: from public numbers that a receipt holds."""
