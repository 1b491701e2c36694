from primes._count import below

__all__ = ["below"]
