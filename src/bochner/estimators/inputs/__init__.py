"""What users give as rows and targets becomes checked sources of numbers."""
