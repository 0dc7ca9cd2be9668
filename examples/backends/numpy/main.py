"""burn-backend-numpy: the numpy backend as a plugin process."""

from burnplugin import main

from numpybackend import backend

if __name__ == "__main__":
    main(backend())
