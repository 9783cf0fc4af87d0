"""What may happen to a study, and whether it loses anything: kills, faults, full disks, and lines typed at random.

The functions here take an amount; `make test` asks for little and `make chaos` for all of it (see `amounts`). `count`
is pytest's `record_property`: what is counted by name is added up at the end (see `closing`).
"""
