"""Refusals because of attached files, in the words of several providers."""

import json

import pytest

from agent.provider.transport.errors import error_from_event, error_from_response
from agent.records.errors import FileLimit, ProviderErrorKind

MANY = FileLimit(count=20, images_only=True)


def images(count: int | None = None, size: int | None = None, pixels: int | None = None) -> object:
    return FileLimit(count=count, size=size, pixels=pixels, images_only=True)


@pytest.mark.parametrize(
    ("status", "message", "limit"),
    [
        (400, "too many images and documents: 104 + 1 > 100", FileLimit(count=100)),
        (400, "Too much media: 0 document pages + 107 images > 100", FileLimit(count=100)),
        (400, ("messages.108.content.3.image.source.base64.data: At least one of the image "
         "dimensions exceed max allowed size for many-image requests: 2000 pixels"), MANY),
        (400, ("messages.7.content.2.image.source.base64.data: At least one of the image "
         "dimensions exceed max allowed size: 8000 pixels"), images(pixels=8_000)),
        (400, ("messages.58.content.2.image.source.base64: image exceeds 5 MB maximum: 6500712 "
         "bytes > 5242880 bytes"), images(size=5_242_880)),
        (400, "request contains 52 images, exceeding the maximum of 50 allowed per request",
         images(50)),
        (400, "Too many images in request. Max is 10.", images(10)),
        (400, "At most 5 image(s) may be provided in one request.", images(5)),
        (400, ("The request contains too many images: 11 images were provided, but the model "
         "supports a maximum of 10 images."), images(10)),
        (500, "too many images in the message, max allowed is 16", images(16)),
        (400, "You can only include 10 image links. Please reduce the number accordingly.",
         images(10)),
        (400, ("Unable to submit request because it has 20 image parts but the model only supports "
         "up to 16"), images(16)),
        (400, "The number of images exceeds the limit of 8", images(8)),
        (400, "Too many images", images()),
        (400, "Image is too large", images()),
        (413, "Request exceeds the maximum size", FileLimit(whole_request=True)),
        (413, "", FileLimit(whole_request=True)),
        (400, "Request payload size exceeds the limit: 20971520 bytes.",
         FileLimit(whole_request=True)),
    ],
)  # fmt: skip
def test_limits_are_read_from_the_refusal(status: int, message: str, limit: FileLimit) -> None:
    body = json.dumps({"error": {"message": message}}).encode() if message else b""
    error = error_from_response("acme", status, {}, body)
    assert error.file_limit == limit
    whole = limit.whole_request
    kind = ProviderErrorKind.OVERFLOW if whole else ProviderErrorKind.INVALID_REQUEST
    assert error.kind is kind
    assert message in error.message


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "prompt is too long: 205000 tokens > 200000 maximum"),
        (400, "This model does not support image input"),
        (400, "Could not process image"),
        (400, "Invalid image data"),
        (429, "Rate limit reached for images per minute: limit 5, please try again in 12s"),
        (429, "You exceeded your current quota. Limit: 0, model: gemini-2.5-flash-image"),
        (400, "max_tokens: 65536 > 8192, which is the maximum allowed number of output tokens"),
        (400, ("Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with "
         "maximum length 40, but got one with length 90.")),
        (400, "Unknown field image_detail: only text is allowed"),
    ],
)  # fmt: skip
def test_other_refusals_are_about_no_file(status: int, message: str) -> None:
    body = json.dumps({"error": {"message": message}}).encode()
    assert error_from_response("acme", status, {}, body).file_limit is None


def test_an_error_in_a_stream_is_read_too() -> None:
    error = error_from_event("acme", {"type": "invalid_request_error", "code": "image_too_large"})
    assert error.file_limit == FileLimit(images_only=True)
