"""Sources of samples: folders, lists, annotations, archives and slides, checked and listed in compact tables."""
