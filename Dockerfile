# The manager's image: one static binary and the public certificate authorities, not as root.
# The same source and the same builder make the same binary; pin the builder by its digest to
# have the same authorities too. Without docker: make image.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="-s -w -buildid=" -o /manager ./cmd/manager

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
