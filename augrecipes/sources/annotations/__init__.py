"""Annotations of objects in pictures, as other tools write them: boxes, polygons, masks and keypoints as a table."""
