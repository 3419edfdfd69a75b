"""The paper's experiments and claims, each as something to run.

    constants    what the paper prints, quoted; and what its own theorems give
    algorithm1   its simulated records, as a stream
    figure1      linear regression
    figure2      quantile regression
    theorem      Theorem 3.2: the law of n (estimate - minimiser) against its limit
    errata       every departure, each with a pair of datasets and the privacy loss they have

Everything here works on records that are made up, in real arithmetic and from a seed. Nothing of it
is a release, and no release calls it. What is drawn is drawn by the library's own samplers, from
the library's own plans.
"""
