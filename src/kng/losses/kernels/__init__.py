"""What losses compute of records in one pass: exact sums, products and ranks, mergeable."""
