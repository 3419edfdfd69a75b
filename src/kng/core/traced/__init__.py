"""Functions of callers as graphs of listed operations, on points and over boxes of theta."""
