"""Commands of `nlgeval` about judges: cards, comparisons, estimates."""
