"""Whether two pictures show the same, whichever rasteriser drew the letters: as tests/viewer/picture_likeness.h."""
import numpy as np
from PIL import Image

BLOCK, STEP = 8, 4
C1, C2, FLAT = 6.5025, 58.5225, 60.0


def shrunk(picture, factor, levels=32):
    """Means over squares of factor x factor pixels, in so many levels per colour: what a golden picture holds."""
    height, width = picture.shape[0] // factor, picture.shape[1] // factor
    squares = picture[:height * factor, :width * factor].reshape(height, factor, width, factor, 3)
    mean = squares.astype(float).mean(axis=(1, 3)) / 255
    return np.round(np.round(mean * (levels - 1)) / (levels - 1) * 255).astype(np.uint8)


def sums(values):
    """Over every block of 8 x 8, every 4 pixels."""
    height, width = values.shape[0] // STEP, values.shape[1] // STEP
    cells = values[:height * STEP, :width * STEP].reshape(height, STEP, width, STEP, *values.shape[2:]).sum(axis=(1, 3))
    return cells[:-1, :-1] + cells[1:, :-1] + cells[:-1, 1:] + cells[1:, 1:]


def blocks(a, b):
    """Of every block the difference of the mean colour, of 255, and the structural similarity, 1 where one is flat."""
    a, b = a.astype(float), b.astype(float)
    n = BLOCK * BLOCK
    colour = np.abs(sums(a - b)).max(axis=2) / n
    grey = np.array([0.299, 0.587, 0.114])
    p, q = a @ grey, b @ grey
    mean_p, mean_q = sums(p) / n, sums(q) / n
    var_p, var_q = sums(p * p) / n - mean_p ** 2, sums(q * q) / n - mean_q ** 2
    both = sums(p * q) / n - mean_p * mean_q
    shape = (2 * mean_p * mean_q + C1) * (2 * both + C2) / ((mean_p ** 2 + mean_q ** 2 + C1) * (var_p + var_q + C2))
    return colour, np.where(np.minimum(var_p, var_q) >= FLAT, shape, 1.0)


def likeness(screen, golden, factor, numbers=()):
    """The largest difference of colour of a block and the smallest similarity, of a screenshot and a golden picture.

    Each block may lie one pixel of the screen elsewhere: a cell whose edge is at half a pixel begins on either side,
    as the rasteriser rounds.  `numbers`: boxes (left, top, right, bottom) of the golden picture that are not compared,
    for they hold numbers with more digits than float32 has.
    """
    golden = golden.copy()
    padded = np.pad(screen, ((1, 1), (1, 1), (0, 0)), mode="edge")
    height, width = screen.shape[:2]
    colours, shapes = [], []
    for dy, dx in sorted(np.ndindex(3, 3), key=lambda at: abs(at[0] - 1) + abs(at[1] - 1)):
        moved = shrunk(padded[dy:dy + height, dx:dx + width], factor)
        for left, top, right, bottom in numbers:
            moved[top:bottom, left:right] = golden[top:bottom, left:right] = 0
        colour, shape = blocks(moved, golden)
        colours.append(colour)
        shapes.append(shape)
        found = np.min(colours, axis=0).max(), np.max(shapes, axis=0).min()
        if alike(found):  # more places can only make them more alike
            break
    return found


def alike(found):
    colour, shape = found
    return colour <= 14 and shape >= 0.45


def read(file):
    return np.asarray(Image.open(file).convert("RGB"))
