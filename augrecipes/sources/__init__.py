"""Where pixels come from: files read with care, folders listed, paths kept small."""
