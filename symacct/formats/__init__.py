"""Number formats: sign, exponent, fraction and special values; rounding into one, and what is lost."""
