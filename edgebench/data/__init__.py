"""The scene and the images: shipped ones rendered from Earth imagery, or the user's own."""
