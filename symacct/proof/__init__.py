"""Certificates: what the algebra found, written so that the kernel and Coq can check it."""
