"""The methods, one file each, behind the `Method` protocol of `base`."""
