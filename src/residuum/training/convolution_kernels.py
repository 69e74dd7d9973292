# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
"""Triton kernels: a 3×3 convolution, relu and 2×2 max-pool in one, and its gradients.

All counts are in pooled positions. A pooled position has a window of 2×2 convolved positions,
which depends on a patch of 4×4 pixels. Window position (a, b) depends on pixel (r, j) of the patch
through the weight (ky, kx) = (r − a, j − b). A row of the patch is 4 × channels neighbouring
numbers. One matrix with columns (output, b) maps it to both b at once; entries are zero where
j − b is no kernel column. The convolved values are never written to memory. Only the maximum of
each window is written, and a code of its position: 2a + b, or 4 where relu made it 0.

The grid is (parts × blocks, runs). A part is `tiles` tiles of `positions` pooled positions, counted
through all images of the run. A block is a share of the channels or outputs. Blocks of one part are
neighbours in the grid, because they read the same tensors and the second finds them in the cache.
Names: `x` [run, image, y, x, channel]; `out`, `grad` and `codes` [run, position, output].
"""

import triton
import triton.language as tl

DEAD = tl.constexpr(4)


@triton.jit
def locate_program(blocks: tl.constexpr):
    """Return the run, the part and the block of this program."""
    return tl.program_id(1).to(tl.int64), tl.program_id(0) // blocks, tl.program_id(0) % blocks


@triton.jit
def locate(index, rows: tl.constexpr, columns: tl.constexpr):
    """Return image, row and column of pooled positions counted through all images."""
    image = index // (rows * columns)
    rest = index - image * (rows * columns)
    row = rest // columns
    return image, row, rest - row * columns


@triton.jit
def patch_row(
    x, image, row, column, alive, r, start,
    height: tl.constexpr, width: tl.constexpr, channels: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """Return `size` numbers of row `r` of each patch, beginning at `start`."""
    along = start + tl.arange(0, size)
    y = 2 * row - 1 + r
    at = 2 * column[:, None] - 1 + (along // channels)[None, :]
    inside = (alive & (y >= 0) & (y < height))[:, None] & (at >= 0) & (at < width)
    first = ((image * height + y) * width + 2 * column - 1) * channels
    return tl.load(x + first[:, None] + along[None, :], mask=inside, other=0.0)


@triton.jit
def whole_patch(x, image, row, column, alive, height: tl.constexpr, width: tl.constexpr):
    """Return the 16 pixels of each patch of an image with one channel."""
    along = tl.arange(0, 16)
    y = 2 * row[:, None] - 1 + (along // 4)[None, :]
    at = 2 * column[:, None] - 1 + (along % 4)[None, :]
    inside = alive[:, None] & (y >= 0) & (y < height) & (at >= 0) & (at < width)
    return tl.load(x + (image[:, None] * height + y) * width + at, mask=inside, other=0.0)


@triton.jit
def pooled(
    grad, codes, image, row, column, alive, start,
    rows: tl.constexpr, columns: tl.constexpr, outputs: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """Return the gradients and codes of pooled positions; DEAD outside the image."""
    inside = alive & (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    first = ((image * rows + row) * columns + column) * outputs + start
    at = first[:, None] + tl.arange(0, size)[None, :]
    gradient = tl.load(grad + at, mask=inside[:, None], other=0.0)
    return gradient, tl.load(codes + at, mask=inside[:, None], other=DEAD)


@triton.jit
def at_position(gradient, code, position):
    """Return the gradient of the convolution at one position of the window."""
    return tl.where(code == position, gradient, 0.0).to(gradient.dtype)


@triton.jit
def window_row(gradient, code, a: tl.constexpr, positions: tl.constexpr, size: tl.constexpr):
    """Return the gradient at window row `a`, with columns (output, b)."""
    left = at_position(gradient, code, 2 * a)
    right = at_position(gradient, code, 2 * a + 1)
    return tl.reshape(tl.join(left, right), (positions, 2 * size))


@triton.jit
def matrices(
    weight, start, number: tl.constexpr, distance: tl.constexpr,
    rows: tl.constexpr, columns: tl.constexpr, stride: tl.constexpr,
):  # fmt: skip
    """Return blocks of matrices with rows of length `stride`; blocks are `distance` apart."""
    at = tl.arange(0, rows)[:, None] * stride + tl.arange(0, columns)[None, :]
    found = ()
    for one in tl.static_range(number):
        found += (tl.load(weight + start + one * distance + at),)  # type: ignore[assignment]
    return found


@triton.jit
def store_winners(
    upper, lower, bias, out, codes, index, alive, start,
    outputs: tl.constexpr, positions: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """Store the maximum of each window after relu, and its code; the first of equals wins."""
    best, second = tl.split(tl.reshape(upper, (positions, size, 2)))
    third, fourth = tl.split(tl.reshape(lower, (positions, size, 2)))
    code = tl.where(second > best, 1, 0)
    best = tl.maximum(best, second)
    code = tl.where(third > best, 2, code)
    best = tl.maximum(best, third)
    code = tl.where(fourth > best, 3, code)
    best = tl.maximum(best, fourth)
    along = start + tl.arange(0, size)
    best += tl.load(bias + along)[None, :]
    dead = best <= 0  # false for NaN, which is kept
    at = index[:, None] * outputs + along[None, :]
    tl.store(out + at, tl.where(dead, 0.0, best).to(out.dtype.element_ty), mask=alive[:, None])
    tl.store(codes + at, tl.where(dead, DEAD, code).to(tl.int8), mask=alive[:, None])


@triton.jit(do_not_specialize=["count"])
def forward_of_images(
    x, weight, bias, out, codes, x_stride, count,
    height: tl.constexpr, width: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, output_block: tl.constexpr, tiles: tl.constexpr,
):  # fmt: skip
    """Compute the layer for images of one channel.

    Weights are [run, a, (r, j), (output, b)]: one matrix for each window row a maps the 16 pixels
    of a patch. The matrices stay in shared memory for all tiles.
    """
    wide: tl.constexpr = 2 * output_block
    run, part, block = locate_program(outputs // output_block)
    start = block * output_block
    x += run * x_stride
    weight += run * (64 * outputs)
    bias += run * outputs
    out += run * count * outputs
    codes += run * count * outputs
    of_row = matrices(weight, 2 * start, 2, 32 * outputs, 16, wide, 2 * outputs)
    for tile in range(tiles):
        index = (part * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, height // 2, width // 2)
        patch = whole_patch(x, image, row, column, alive, height, width)
        upper = tl.dot(patch, of_row[0])
        lower = tl.dot(patch, of_row[1])
        store_winners(
            upper, lower, bias, out, codes, index, alive, start, outputs, positions, output_block
        )


@triton.jit(do_not_specialize=["count"])
def forward_of_channels(
    x, weight, bias, out, codes, x_stride, count,
    height: tl.constexpr, width: tl.constexpr, channels: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, channel_block: tl.constexpr, output_block: tl.constexpr,
    tiles: tl.constexpr,
):  # fmt: skip
    """Compute the layer for images of several channels.

    Weights are [run, ky, (j, channel), (output, b)]. Row r of the patches goes into the upper
    positions of the windows through ky = r, and into the lower ones through ky = r − 1. Where all
    channels are one block, the three matrices stay in shared memory for all tiles.
    """
    depth: tl.constexpr = 4 * channels
    deep: tl.constexpr = 4 * channel_block
    wide: tl.constexpr = 2 * output_block
    one_block: tl.constexpr = depth == deep
    area: tl.constexpr = depth * 2 * outputs
    run, part, block = locate_program(outputs // output_block)
    start = block * output_block
    x += run * x_stride
    weight += run * (3 * area) + 2 * start
    bias += run * outputs
    out += run * count * outputs
    codes += run * count * outputs
    if one_block:
        of_row = matrices(weight, 0, 3, area, deep, wide, 2 * outputs)
    for tile in range(tiles):
        index = (part * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, height // 2, width // 2)
        upper = tl.zeros((positions, wide), tl.float32)
        lower = tl.zeros((positions, wide), tl.float32)
        for k in tl.static_range(0, depth, deep):
            if not one_block:
                of_row = matrices(weight, k * 2 * outputs, 3, area, deep, wide, 2 * outputs)
            for r in tl.static_range(4):
                pixels = patch_row(
                    x, image, row, column, alive, r, k, height, width, channels, deep
                )
                if r < 3:
                    upper = tl.dot(pixels, of_row[r], upper)
                if r > 0:
                    lower = tl.dot(pixels, of_row[r - 1], lower)
        store_winners(
            upper, lower, bias, out, codes, index, alive, start, outputs, positions, output_block
        )


@triton.jit
def store_pixels(
    values, out, image, y, x, alive, start,
    height: tl.constexpr, width: tl.constexpr, channels: tl.constexpr,
    positions: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """Store two neighbouring pixels of each position, given as rows (channel, b)."""
    left, right = tl.split(tl.reshape(tl.trans(values), (positions, size, 2)))
    first = ((image * height + y) * width + x) * channels + start
    at = first[:, None] + tl.arange(0, size)[None, :]
    tl.store(out + at, left.to(out.dtype.element_ty), mask=alive[:, None])
    tl.store(out + at + channels, right.to(out.dtype.element_ty), mask=alive[:, None])


@triton.jit(do_not_specialize=["count"])
def data_gradient(
    grad, codes, weight, out, count,
    height: tl.constexpr, width: tl.constexpr, channels: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, channel_block: tl.constexpr, output_block: tl.constexpr,
    tiles: tl.constexpr,
):  # fmt: skip
    """Compute the gradient of x [run, image, y, x, channel], 2×2 pixels for a pooled position.

    The gradient of x is the convolution of the gradient before the pool with mirrored weights,
    given as [run, (ky, j), (channel, b), output]. The 4×4 patch of that gradient around the pixels
    lies in the windows of 3×3 pooled positions, (down, side). Each pooled position is read once,
    and by its code gives the one, two or four positions (r, j) of the patch in its window. Sums
    are kept as [(channel, b), position], so that weights stay in shared memory for all tiles, and
    the next gradient is loaded while the tensor cores work on the one before.
    """
    rows: tl.constexpr = height // 2
    columns: tl.constexpr = width // 2
    wide: tl.constexpr = 2 * channel_block
    one_block: tl.constexpr = outputs == output_block
    area: tl.constexpr = 2 * channels * outputs
    run, part, block = locate_program(channels // channel_block)
    start = block * channel_block
    weight += run * (12 * area) + 2 * start * outputs
    grad += run * count * outputs
    codes += run * count * outputs
    out += run * count * (4 * channels)
    if one_block:
        of_place = matrices(weight, 0, 12, area, wide, output_block, outputs)
    for tile in range(tiles):
        index = (part * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, rows, columns)
        upper = tl.zeros((wide, positions), tl.float32)
        lower = tl.zeros((wide, positions), tl.float32)
        for k in tl.static_range(0, outputs, output_block):
            if not one_block:
                of_place = matrices(weight, k, 12, area, wide, output_block, outputs)
            for down in tl.static_range(3):
                for side in tl.static_range(3):
                    gradient, code = pooled(
                        grad, codes, image, row + (down - 1), column + (side - 1), alive, k,
                        rows, columns, outputs, output_block,
                    )  # fmt: skip
                    for r in tl.static_range(4):
                        for j in tl.static_range(4):
                            if (r + 1) // 2 == down and (j + 1) // 2 == side:
                                a, b = (r + 1) % 2, (j + 1) % 2
                                piece = tl.trans(at_position(gradient, code, 2 * a + b))
                                if r < 3:
                                    upper = tl.dot(of_place[4 * r + j], piece, upper)
                                if r > 0:
                                    lower = tl.dot(of_place[4 * (r - 1) + j], piece, lower)
        y, left = 2 * row, 2 * column
        store_pixels(
            upper, out, image, y, left, alive, start,
            height, width, channels, positions, channel_block,
        )  # fmt: skip
        store_pixels(
            lower, out, image, y + 1, left, alive, start,
            height, width, channels, positions, channel_block,
        )  # fmt: skip


@triton.jit(do_not_specialize=["count"])
def weight_gradient_of_images(
    x, grad, codes, sums, bias_sums, x_stride, count,
    height: tl.constexpr, width: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, output_block: tl.constexpr, tiles: tl.constexpr,
):  # fmt: skip
    """Sum the gradients of weight and bias over a part, for images of one channel.

    Sums are [run, part, a, (r, j), (output, b)], with the layout of the forward weights. They are
    the products of the patches, [pixel, position], with the gradient at each window row a,
    [position, (output, b)].
    """
    wide: tl.constexpr = 2 * output_block
    blocks: tl.constexpr = outputs // output_block
    run, part, block = locate_program(blocks)
    start = block * output_block
    x += run * x_stride
    grad += run * count * outputs
    codes += run * count * outputs
    upper = tl.zeros((16, wide), tl.float32)
    lower = tl.zeros((16, wide), tl.float32)
    total = tl.zeros((positions, output_block), tl.float32)
    for tile in range(tiles):
        index = (part * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, height // 2, width // 2)
        gradient, code = pooled(
            grad, codes, image, row, column, alive, start,
            height // 2, width // 2, outputs, output_block,
        )  # fmt: skip
        patch = tl.trans(whole_patch(x, image, row, column, alive, height, width))
        upper = tl.dot(patch, window_row(gradient, code, 0, positions, output_block), upper)
        lower = tl.dot(patch, window_row(gradient, code, 1, positions, output_block), lower)
        total += tl.where(code == DEAD, 0.0, gradient.to(tl.float32))
    number = run * (tl.num_programs(0) // blocks) + part
    at = tl.arange(0, 16)[:, None] * (2 * outputs) + 2 * start + tl.arange(0, wide)[None, :]
    sums += number * (64 * outputs)
    tl.store(sums + at, upper)
    tl.store(sums + 32 * outputs + at, lower)
    bias_at = number * outputs + start + tl.arange(0, output_block)
    tl.store(bias_sums + bias_at, tl.sum(total, 0))


@triton.jit(do_not_specialize=["count"])
def weight_gradient_of_channels(
    x, grad, codes, sums, bias_sums, x_stride, count,
    height: tl.constexpr, width: tl.constexpr, channels: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, channel_block: tl.constexpr, output_block: tl.constexpr,
    tiles: tl.constexpr,
):  # fmt: skip
    """Sum the gradients of weight and bias over a part, for images of several channels.

    Sums are [run, part, ky, (j, channel), (output, b)], with the layout of the forward weights. A
    block is one ky, a share of (j, channel) and a share of the outputs. Its sums are the products
    of row ky + a of the patches, [(j, channel), position], with the gradient at window row a,
    [position, (output, b)].
    """
    depth: tl.constexpr = 4 * channels
    deep: tl.constexpr = 4 * channel_block
    wide: tl.constexpr = 2 * output_block
    blocks: tl.constexpr = 3 * (depth // deep) * (outputs // output_block)
    run, part, block = locate_program(blocks)
    ky = block % 3
    k = block // 3 % (depth // deep) * deep
    start = block // (3 * (depth // deep)) * output_block
    x += run * x_stride
    grad += run * count * outputs
    codes += run * count * outputs
    sum_of_products = tl.zeros((deep, wide), tl.float32)
    total = tl.zeros((positions, output_block), tl.float32)
    for tile in range(tiles):
        index = (part * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, height // 2, width // 2)
        gradient, code = pooled(
            grad, codes, image, row, column, alive, start,
            height // 2, width // 2, outputs, output_block,
        )  # fmt: skip
        for a in tl.static_range(2):
            pixels = patch_row(
                x, image, row, column, alive, ky + a, k, height, width, channels, deep
            )
            piece = window_row(gradient, code, a, positions, output_block)
            sum_of_products = tl.dot(tl.trans(pixels), piece, sum_of_products)
        total += tl.where(code == DEAD, 0.0, gradient.to(tl.float32))
    number = run * (tl.num_programs(0) // blocks) + part
    down, across = k + tl.arange(0, deep), 2 * start + tl.arange(0, wide)
    sums += (number * 3 + ky) * (depth * 2 * outputs)
    tl.store(sums + down[:, None] * (2 * outputs) + across[None, :], sum_of_products)
    if (ky == 0) & (k == 0):
        bias_at = number * outputs + start + tl.arange(0, output_block)
        tl.store(bias_sums + bias_at, tl.sum(total, 0))
