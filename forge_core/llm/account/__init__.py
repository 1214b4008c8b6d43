"""What the provider publishes and bills: catalogue, prices, context windows, credits, spending."""
