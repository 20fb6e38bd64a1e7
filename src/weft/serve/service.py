"""The service: word alignment, markup transfer and label projection over HTTP. It keeps nothing of what it is sent."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from fastapi import FastAPI, HTTPException, Response, Security
from fastapi.responses import FileResponse, JSONResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import Request as HttpRequest
from starlette.types import ASGIApp

import weft
from weft.align.model_folder import ModelFolder, description, open_model
from weft.align.onnx_aligner import Aligner
from weft.align.windowed import Wanted
from weft.apply.markup_transfer import transfer
from weft.apply.projection import Labelled, project
from weft.errors import WeftError, printable
from weft.serve.batching import Batcher, RequestAligner, TooSlow
from weft.serve.limits import Gate, Limits, Metrics
from weft.serve.messages import (
    AlignAnswer,
    AlignedPair,
    AlignRequest,
    Health,
    ModelsAnswer,
    Problem,
    ProjectAnswer,
    ProjectedPair,
    ProjectRequest,
    Request,
    ServedModel,
    TransferAnswer,
    TransferRequest,
)
from weft.text.words import Sentence

Asked = TypeVar("Asked", bound=Request)

_MOST_MESSAGE = 300  # characters of an error that quotes a request
_GUARDED = ("/align", "/transfer", "/project", "/models", "/metrics")  # need a token, if there are tokens
_ERRORS = {
    400: "The body is not JSON.",
    401: "There is no token, or it is wrong.",
    404: "There is no such model.",
    408: "The request was not complete in time.",
    413: "The body is too large.",
    415: "The body is not said to be JSON, or is compressed.",
    422: "The request is not as described here.",
    429: "Too many requests are waiting; `Retry-After` says when to try again.",
    503: "The service cannot take this now.",
    504: "The request could not be answered in time.",
}
_PAGE_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": "frame-ancestors 'none'",  # what it may load, the page says itself
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Model:
    """An aligner that is served."""

    name: str
    description: str
    wide: Batcher
    fast: Batcher | None


@contextmanager
def loaded_models(names: Iterable[str], cores: int, batch: int, metrics: Metrics) -> Iterator[dict[str, Model]]:
    """Load aligners by their names or folders; at the end, answer what waits for them and close them."""
    models: dict[str, Model] = {}
    with ExitStack() as stack:

        def load(folder: ModelFolder, fast: bool) -> Batcher:
            aligner = stack.enter_context(Aligner(folder, cores=cores, fast=fast))
            return stack.enter_context(closing(Batcher(aligner, batch, metrics.batches.observe)))

        for name in names:
            folder = open_model(name)
            known = folder.path.resolve().name
            if known in models:
                raise WeftError(f"{name}: another model is called {known}, too; rename its folder")
            fast = load(folder, fast=True) if folder.has_fast_encoders else None
            models[known] = Model(known, description(folder.path), load(folder, fast=False), fast)
        yield models


class Service:
    """Answers requests. Those that do more with links than to send them do it in threads of their own."""

    def __init__(self, models: Mapping[str, Model], limits: Limits, metrics: Metrics) -> None:
        """The first model is that of requests which name none."""
        self._models, self._limits, self._metrics = models, limits, metrics
        self._threads = ThreadPoolExecutor(limits.most_requests, "request")

    async def align(self, request: AlignRequest) -> Response:
        """Align sentence pairs: links between words, with probabilities."""
        model, aligner = self._aligner(request)
        threshold = model.wide.aligner.threshold if request.threshold is None else request.threshold
        pairs = ((_sentence(pair.source, request.raw), _sentence(pair.target, request.raw)) for pair in request.pairs)
        answers = aligner.answers(pairs, Wanted(request.merge, threshold, matrices=False))
        aligned = [AlignedPair.of(alignment, problem, request.format) async for alignment, problem in answers]
        return _json(AlignAnswer(model.name, aligned))

    async def transfer(self, request: TransferRequest) -> Response:
        """Give translations the inline markup of their sources."""
        return await self._in_thread(_transfer, request)

    async def project(self, request: ProjectRequest) -> Response:
        """Give translations the labels of their sources."""
        return await self._in_thread(_project, request)

    async def _in_thread(self, work: Callable[[RequestAligner, Asked, str], object], request: Asked) -> Response:
        model, aligner = self._aligner(request)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: _json(work(aligner, request, model.name)))

    async def models(self) -> ModelsAnswer:
        """List the aligners, the default one first."""
        return ModelsAnswer(
            models=[
                ServedModel(name=model.name, fast=model.fast is not None, description=model.description)
                for model in self._models.values()
            ]
        )

    async def health(self) -> Health:
        """Tell that the service is up."""
        return Health(version=weft.__version__)

    async def metrics(self) -> Response:
        """Give counts and times of requests, for Prometheus."""
        return Response(generate_latest(self._metrics.registry), media_type=CONTENT_TYPE_LATEST)

    def _aligner(self, request: Request) -> tuple[Model, RequestAligner]:
        """Return the model that a request asks for, and what aligns its pairs."""
        name = next(iter(self._models)) if request.model is None else request.model
        model = self._models.get(name)
        if model is None:
            raise HTTPException(404, f"no model of this name; there is {', '.join(self._models)}")
        batcher = model.fast if request.fast else model.wide
        if batcher is None:
            raise HTTPException(404, f"{model.name} has no fast encoders; leave out 'fast'")
        return model, RequestAligner(batcher, self._limits.seconds, request.reverse)


def _transfer(aligner: RequestAligner, request: TransferRequest, model: str) -> TransferAnswer:
    targets = transfer(
        aligner,
        ((pair.source, pair.target) for pair in request.pairs),
        request.tag_handling,
        ignore_tags=request.ignore_tags,
        split=request.split,
        placeholders=request.placeholders,
    )
    return TransferAnswer(model, list(targets))


def _project(aligner: RequestAligner, request: ProjectRequest, model: str) -> ProjectAnswer:
    sentences = [
        (_sentence(pair.source, raw=True), _sentence(pair.target, raw=True), pair.labels) for pair in request.pairs
    ]
    labelled = (
        Labelled(source, [label.within(source.text) for label in labels], target)
        for source, target, labels in sentences
    )
    found = project(aligner, labelled, request.strength)
    pairs = [ProjectedPair.of(projected, labels) for projected, (_, _, labels) in zip(found, sentences, strict=True)]
    return ProjectAnswer(model, pairs)


@functools.cache
def _written(kind: type) -> TypeAdapter[Any]:
    """Return what writes answers of a kind."""
    return TypeAdapter(kind)


def _json(answer: object) -> Response:
    return Response(_written(type(answer)).dump_json(answer), media_type="application/json")


def _sentence(side: str | list[str], raw: bool) -> Sentence:
    return Sentence.from_text(side, raw) if isinstance(side, str) else Sentence.from_words(side)


def create_app(
    models: Mapping[str, Model],
    metrics: Metrics,
    limits: Limits | None = None,
    tokens: Collection[str] = (),
    page: Path | None = None,
) -> ASGIApp:
    """Return the service as an ASGI application, with a folder as its page, if there is one."""
    limits = limits or Limits()
    app = FastAPI(
        title="weft",
        summary="Word alignment, markup transfer and label projection.",
        version=weft.__version__,
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # it would name an address that clients of a proxy do not have
    )
    service = Service(models, limits, metrics)
    _add_routes(app, service, has_tokens=bool(tokens))
    for path in sorted(page.rglob("*")) if page else ():
        if path.is_file():
            _add_file(app, path, path.relative_to(page or path).as_posix())
    _add_error_handlers(app)
    return Gate(app, limits, _GUARDED, tokens, metrics)


class _WorkRoute(APIRoute):
    """A route that reads the JSON of a request in one go, which takes a fraction of FastAPI's time."""

    def get_route_handler(self) -> Callable[[HttpRequest], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        kind: type[Request] = get_type_hints(self.endpoint)["request"]

        async def handle(request: HttpRequest) -> Response:
            if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise HTTPException(415, "send JSON, with the header 'Content-Type: application/json'")
            if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
                raise HTTPException(415, "send JSON as it is, not compressed, without 'Content-Encoding'")
            try:
                asked = kind.model_validate_json(await request.body())
            except ValidationError as error:
                raise _refusal(error) from None
            return await self.endpoint(asked)

        return handle


def _refusal(error: ValidationError) -> HTTPException:
    """Return the answer to what is no request."""
    errors = error.errors(include_url=False, include_input=False)
    first = errors[0]
    if first["type"] == "json_invalid":
        return HTTPException(400, f"not JSON: {first['ctx']['error']}")
    place = _place(first)
    messages = dict.fromkeys(one["msg"] for one in errors if _place(one) == place)  # one for each kind of value
    return HTTPException(422, f"{place}: {'; or: '.join(messages)}")


def _add_routes(app: FastAPI, service: Service, has_tokens: bool) -> None:
    errors: dict[int | str, dict[str, Any]] = {
        status: {"model": Problem, "description": text} for status, text in _ERRORS.items()
    }
    if not has_tokens:
        del errors[401]
    # The gate has checked the token before a body is read; this tells the schema.
    security = [Security(HTTPBearer(auto_error=False))] if has_tokens else []
    for work, answer in (
        (service.align, AlignAnswer),
        (service.transfer, TransferAnswer),
        (service.project, ProjectAnswer),
    ):
        app.router.add_api_route(
            f"/{work.__name__}",
            work,
            methods=["POST"],
            response_model=answer,
            responses=errors,
            dependencies=security,
            route_class_override=_WorkRoute,
        )
    refused: dict[int | str, dict[str, Any]] = {401: errors[401]} if has_tokens else {}
    app.get("/models", responses=refused, dependencies=security)(service.models)
    shown = {200: {"description": "Counts and times.", "content": {"text/plain": {"schema": {"type": "string"}}}}}
    app.get("/metrics", responses=refused | shown, dependencies=security, response_class=Response)(service.metrics)
    app.get("/health")(service.health)


def _add_file(app: FastAPI, path: Path, name: str) -> None:
    """Serve one file of the page."""

    def file() -> FileResponse:
        return FileResponse(path, headers=_PAGE_HEADERS)

    for place in (f"/{name}", "/") if name == "index.html" else (f"/{name}",):
        app.get(place, include_in_schema=False)(file)


def _add_error_handlers(app: FastAPI) -> None:
    """Answer all errors as `Problem`."""

    def problem(status: int, text: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
        return JSONResponse({"error": printable(text[:_MOST_MESSAGE])}, status, headers)

    def refused(request: HttpRequest, error: Exception) -> JSONResponse:
        assert isinstance(error, StarletteHTTPException)
        return problem(error.status_code, error.detail, error.headers)

    def failed(request: HttpRequest, error: Exception) -> JSONResponse:
        return problem(504 if isinstance(error, TooSlow) else 503, str(error))

    def broken(request: HttpRequest, error: Exception) -> JSONResponse:
        return problem(500, "an error of the service; it has been logged")

    app.add_exception_handler(StarletteHTTPException, refused)
    app.add_exception_handler(WeftError, failed)
    app.add_exception_handler(Exception, broken)


def _place(error: Mapping[str, Any]) -> str:
    """Return which member of a request is wrong, such as pairs.3.source, without the kinds of values it may have."""
    kinds = ("list[", "literal[", "constrained-")
    parts = map(str, error["loc"])
    return ".".join(part for part in parts if not part.startswith(kinds)) or "the body"
