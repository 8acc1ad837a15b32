"""One file for each class of hostile input; run.py says what they have in common."""
