"""The daemon as a service: `spec` says what runs, `launchd` and `systemd` how each system is told, `install` decides what to do.

Layer 4, front.
"""
