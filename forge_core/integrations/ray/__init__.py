"""`forge batch --engine ray`: tasks of a batch on the nodes of a Ray cluster (https://docs.ray.io)."""
