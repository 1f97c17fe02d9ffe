// Package admission tests that the webhooks are there when they are asked: while their
// certificate changes, while processes come and go, under more load than they can bear,
// and when nobody is there at all. Its world refuses what could not be judged, so that
// every request that was not answered is a failed write.
package admission
