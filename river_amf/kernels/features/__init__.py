"""Features as trees and linear models see them: split intensities and standardised inputs."""
