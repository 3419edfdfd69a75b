"""Functions of a prediction and a response. A loss is one of them times a model."""
