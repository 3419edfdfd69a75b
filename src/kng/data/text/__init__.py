"""Text as it stands in files: lines, cells, and the numbers that cells spell."""
