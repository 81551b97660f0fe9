"""Features as trees and linear models see them: split intensities and standardized inputs."""
