"""Boxes of theta with bounds on the exponent, for losses whose fields know their own bounds."""
