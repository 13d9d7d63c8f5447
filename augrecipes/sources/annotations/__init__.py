"""Annotations of objects in images, as other tools write them: boxes, polygons, masks and keypoints as a table."""
