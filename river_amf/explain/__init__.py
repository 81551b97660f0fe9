"""Paths, trees and single predictions, as objects and as text."""
