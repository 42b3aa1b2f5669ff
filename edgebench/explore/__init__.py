"""All results of a lab on one page that can be published: what is in it, and the folder that it is."""
