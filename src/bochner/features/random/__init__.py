"""Random features: functions drawn at random whose products have the kernel as their mean."""
