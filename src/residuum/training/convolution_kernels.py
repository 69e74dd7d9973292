# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
"""Triton kernels: a 3×3 convolution, relu and 2×2 max-pool in one, and its gradients.

A program works on pooled positions: each has a window of 2×2 convolved positions, which sees a
patch of 4×4 pixels. Window position (a, b) meets pixel (r, j) of the patch through the weight
(ky, kx) = (r − a, j − b), so that a row of the patch, 4 × channels neighbouring numbers, meets
both b at once through a matrix with columns (output, b), zero where j − b is no kernel column.
What is convolved never reaches memory: only the winner of each window does, and a code that says
which position it was, 2a + b, or 4 where relu cut it off.
"""

import triton
import triton.language as tl

DEAD = tl.constexpr(4)


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
    """Return `size` numbers from `start` on of row `r` of each patch: pixel by pixel."""
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
    """Return gradients and codes of pooled positions, dead outside the image."""
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
def matrix(weight, start, rows: tl.constexpr, columns: tl.constexpr, stride: tl.constexpr):
    """Return a block from `start` on of a matrix whose rows are `stride` long."""
    down, across = tl.arange(0, rows), tl.arange(0, columns)
    return tl.load(weight + start + down[:, None] * stride + across[None, :])


@triton.jit
def store_winners(
    upper, lower, bias, out, codes, index, alive, start,
    outputs: tl.constexpr, positions: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """Store the largest of each window, through relu, and its code; the first of equals wins."""
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
    dead = best <= 0  # so that NaN lives on
    at = index[:, None] * outputs + along[None, :]
    tl.store(out + at, tl.where(dead, 0.0, best).to(out.dtype.element_ty), mask=alive[:, None])
    tl.store(codes + at, tl.where(dead, DEAD, code).to(tl.int8), mask=alive[:, None])


@triton.jit
def forward_of_images(
    x, weight, bias, out, codes, x_stride, count,
    height: tl.constexpr, width: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, output_block: tl.constexpr, tiles: tl.constexpr,
    stages: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Compute the layer for images of one channel; weights are [run, a, patch, (output, b)]."""
    run = tl.program_id(1).to(tl.int64)
    start = tl.program_id(2) * output_block
    x += run * x_stride
    weight += run * (2 * 16 * 2 * outputs)
    bias += run * outputs
    out += run * count * outputs
    codes += run * count * outputs
    upper_weight = matrix(weight, 2 * start, 16, 2 * output_block, 2 * outputs)
    lower_weight = matrix(weight + 32 * outputs, 2 * start, 16, 2 * output_block, 2 * outputs)
    for tile in tl.range(0, tiles, num_stages=stages):
        index = (tl.program_id(0) * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, height // 2, width // 2)
        patch = whole_patch(x, image, row, column, alive, height, width)
        upper = tl.dot(patch, upper_weight, input_precision=precision)
        lower = tl.dot(patch, lower_weight, input_precision=precision)
        store_winners(
            upper, lower, bias, out, codes, index, alive, start, outputs, positions, output_block
        )


@triton.jit
def forward_of_channels(
    x, weight, bias, out, codes, x_stride, count,
    height: tl.constexpr, width: tl.constexpr, channels: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, channel_block: tl.constexpr, output_block: tl.constexpr,
    tiles: tl.constexpr, stages: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Compute the layer; weights are [run, ky, (j, channel), (output, b)]."""
    depth: tl.constexpr = 4 * channels
    block: tl.constexpr = 4 * channel_block
    wide: tl.constexpr = 2 * output_block
    one_block: tl.constexpr = depth == block
    area: tl.constexpr = depth * 2 * outputs
    run = tl.program_id(1).to(tl.int64)
    start = tl.program_id(2) * output_block
    x += run * x_stride
    weight += run * (3 * area) + 2 * start
    bias += run * outputs
    out += run * count * outputs
    codes += run * count * outputs
    if one_block:  # the weights stay where they are while the tiles go by
        first = matrix(weight, 0, block, wide, 2 * outputs)
        second = matrix(weight, area, block, wide, 2 * outputs)
        third = matrix(weight, 2 * area, block, wide, 2 * outputs)
    for tile in tl.range(0, tiles, num_stages=stages):
        index = (tl.program_id(0) * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, height // 2, width // 2)
        upper = tl.zeros((positions, wide), tl.float32)
        lower = tl.zeros((positions, wide), tl.float32)
        for k in tl.static_range(0, depth, block):
            if not one_block:
                first = matrix(weight, k * 2 * outputs, block, wide, 2 * outputs)
                second = matrix(weight, area + k * 2 * outputs, block, wide, 2 * outputs)
                third = matrix(weight, 2 * area + k * 2 * outputs, block, wide, 2 * outputs)
            pixels = patch_row(x, image, row, column, alive, 0, k, height, width, channels, block)
            upper = tl.dot(pixels, first, upper, input_precision=precision)
            pixels = patch_row(x, image, row, column, alive, 1, k, height, width, channels, block)
            upper = tl.dot(pixels, second, upper, input_precision=precision)
            lower = tl.dot(pixels, first, lower, input_precision=precision)
            pixels = patch_row(x, image, row, column, alive, 2, k, height, width, channels, block)
            upper = tl.dot(pixels, third, upper, input_precision=precision)
            lower = tl.dot(pixels, second, lower, input_precision=precision)
            pixels = patch_row(x, image, row, column, alive, 3, k, height, width, channels, block)
            lower = tl.dot(pixels, third, lower, input_precision=precision)
        store_winners(
            upper, lower, bias, out, codes, index, alive, start, outputs, positions, output_block
        )


@triton.jit
def store_pixels(
    values, out, image, y, x, alive, start,
    height: tl.constexpr, width: tl.constexpr, channels: tl.constexpr,
    positions: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """Store two neighbouring pixels of each position, given as columns (channel, b)."""
    left, right = tl.split(tl.reshape(values, (positions, size, 2)))
    first = ((image * height + y) * width + x) * channels + start
    at = first[:, None] + tl.arange(0, size)[None, :]
    tl.store(out + at, left.to(out.dtype.element_ty), mask=alive[:, None])
    tl.store(out + at + channels, right.to(out.dtype.element_ty), mask=alive[:, None])


@triton.jit
def data_gradient(
    grad, codes, weight, out, count,
    height: tl.constexpr, width: tl.constexpr, channels: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, channel_block: tl.constexpr, output_block: tl.constexpr,
    tiles: tl.constexpr, stages: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Compute the gradient of the input, in blocks of 2×2 pixels.

    It is the convolution of the gradient with the mirrored, transposed weights, given as
    [run, ky, j, output, (channel, b)]; the 4×4 patch of gradients of a block comes from 3×3 pooled
    positions.
    """
    rows: tl.constexpr = height // 2
    columns: tl.constexpr = width // 2
    wide: tl.constexpr = 2 * channel_block
    area: tl.constexpr = 4 * outputs * 2 * channels
    run = tl.program_id(1).to(tl.int64)
    start = tl.program_id(2) * channel_block
    weight += run * (3 * area) + 2 * start
    grad += run * count * outputs
    codes += run * count * outputs
    out += run * count * (4 * channels)
    for tile in tl.range(0, tiles):
        index = (tl.program_id(0) * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, rows, columns)
        upper = tl.zeros((positions, wide), tl.float32)
        lower = tl.zeros((positions, wide), tl.float32)
        for step in tl.range(0, 4 * (outputs // output_block), num_stages=stages):
            k = step // 4 * output_block
            j = step % 4
            b = 1 - j % 2
            near = column + (j + 1) // 2 - 1
            at = weight + (j * outputs + k) * 2 * channels
            first = matrix(at, 0, output_block, wide, 2 * channels)
            second = matrix(at, area, output_block, wide, 2 * channels)
            third = matrix(at, 2 * area, output_block, wide, 2 * channels)
            gradient, code = pooled(
                grad, codes, image, row - 1, near, alive, k, rows, columns, outputs, output_block
            )
            piece = at_position(gradient, code, 2 + b)
            upper = tl.dot(piece, first, upper, input_precision=precision)
            gradient, code = pooled(
                grad, codes, image, row, near, alive, k, rows, columns, outputs, output_block
            )
            piece = at_position(gradient, code, b)
            upper = tl.dot(piece, second, upper, input_precision=precision)
            lower = tl.dot(piece, first, lower, input_precision=precision)
            piece = at_position(gradient, code, 2 + b)
            upper = tl.dot(piece, third, upper, input_precision=precision)
            lower = tl.dot(piece, second, lower, input_precision=precision)
            gradient, code = pooled(
                grad, codes, image, row + 1, near, alive, k, rows, columns, outputs, output_block
            )
            piece = at_position(gradient, code, b)
            lower = tl.dot(piece, third, lower, input_precision=precision)
        y, left = 2 * row, 2 * column
        store_pixels(
            upper, out, image, y, left, alive, start,
            height, width, channels, positions, channel_block,
        )  # fmt: skip
        store_pixels(
            lower, out, image, y + 1, left, alive, start,
            height, width, channels, positions, channel_block,
        )  # fmt: skip


@triton.jit
def store_block(
    values, sums, down, across,
    rows: tl.constexpr, columns: tl.constexpr, stride: tl.constexpr,
):  # fmt: skip
    """Store a block at (down, across) of a matrix whose rows are `stride` long."""
    at = (down + tl.arange(0, rows))[:, None] * stride + (across + tl.arange(0, columns))[None, :]
    tl.store(sums + at, values)


@triton.jit
def weight_gradient_of_images(
    x, grad, codes, sums, bias_sums, x_stride, count,
    height: tl.constexpr, width: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, output_block: tl.constexpr, tiles: tl.constexpr,
    stages: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Sum over some tiles, for images of one channel: [run, part, a, b, patch, output]."""
    area: tl.constexpr = 16 * outputs
    run = tl.program_id(1).to(tl.int64)
    part = run * tl.num_programs(0) + tl.program_id(0)
    start = tl.program_id(2) * output_block
    x += run * x_stride
    grad += run * count * outputs
    codes += run * count * outputs
    sums += part * (4 * area)
    first = tl.zeros((16, output_block), tl.float32)
    second = tl.zeros((16, output_block), tl.float32)
    third = tl.zeros((16, output_block), tl.float32)
    fourth = tl.zeros((16, output_block), tl.float32)
    total = tl.zeros((positions, output_block), tl.float32)
    for tile in tl.range(0, tiles, num_stages=stages):
        index = (tl.program_id(0) * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, height // 2, width // 2)
        gradient, code = pooled(
            grad, codes, image, row, column, alive, start,
            height // 2, width // 2, outputs, output_block,
        )  # fmt: skip
        patch = tl.trans(whole_patch(x, image, row, column, alive, height, width))
        piece = at_position(gradient, code, 0)
        first = tl.dot(patch, piece, first, input_precision=precision)
        piece = at_position(gradient, code, 1)
        second = tl.dot(patch, piece, second, input_precision=precision)
        piece = at_position(gradient, code, 2)
        third = tl.dot(patch, piece, third, input_precision=precision)
        piece = at_position(gradient, code, 3)
        fourth = tl.dot(patch, piece, fourth, input_precision=precision)
        total += tl.where(code == DEAD, 0.0, gradient.to(tl.float32))
    store_block(first, sums, 0, start, 16, output_block, outputs)
    store_block(second, sums + area, 0, start, 16, output_block, outputs)
    store_block(third, sums + 2 * area, 0, start, 16, output_block, outputs)
    store_block(fourth, sums + 3 * area, 0, start, 16, output_block, outputs)
    tl.store(bias_sums + part * outputs + start + tl.arange(0, output_block), tl.sum(total, 0))


@triton.jit
def weight_gradient_of_channels(
    x, grad, codes, sums, bias_sums, x_stride, count,
    height: tl.constexpr, width: tl.constexpr, channels: tl.constexpr, outputs: tl.constexpr,
    positions: tl.constexpr, channel_block: tl.constexpr, output_block: tl.constexpr,
    tiles: tl.constexpr, stages: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Sum over some tiles for one row of the kernel: [run, part, ky, b, (j, channel), output]."""
    depth: tl.constexpr = 4 * channels
    block: tl.constexpr = 4 * channel_block
    area: tl.constexpr = depth * outputs
    run = tl.program_id(1).to(tl.int64)
    part = run * tl.num_programs(0) + tl.program_id(0)
    ky = tl.program_id(2) % 3
    k = tl.program_id(2) // 3 % (depth // block) * block
    start = tl.program_id(2) // (3 * (depth // block)) * output_block
    x += run * x_stride
    grad += run * count * outputs
    codes += run * count * outputs
    sums += (part * 3 + ky) * (2 * area)
    left = tl.zeros((block, output_block), tl.float32)
    right = tl.zeros((block, output_block), tl.float32)
    total = tl.zeros((positions, output_block), tl.float32)
    for tile in tl.range(0, tiles, num_stages=stages):
        index = (tl.program_id(0) * tiles + tile) * positions + tl.arange(0, positions)
        alive = index < count
        image, row, column = locate(index, height // 2, width // 2)
        gradient, code = pooled(
            grad, codes, image, row, column, alive, start,
            height // 2, width // 2, outputs, output_block,
        )  # fmt: skip
        for a in tl.static_range(2):
            pixels = tl.trans(
                patch_row(x, image, row, column, alive, ky + a, k, height, width, channels, block)
            )
            piece = at_position(gradient, code, 2 * a)
            left = tl.dot(pixels, piece, left, input_precision=precision)
            piece = at_position(gradient, code, 2 * a + 1)
            right = tl.dot(pixels, piece, right, input_precision=precision)
        total += tl.where(code == DEAD, 0.0, gradient.to(tl.float32))
    store_block(left, sums, k, start, block, output_block, outputs)
    store_block(right, sums + area, k, start, block, output_block, outputs)
    if (ky == 0) & (k == 0):
        tl.store(bias_sums + part * outputs + start + tl.arange(0, output_block), tl.sum(total, 0))
