// Uploads to the S3 front with the AWS SDK for JavaScript v3, configured by the environment alone:
// a stream with its checksum in a trailer, and a large file in parts. Exits at the first surprise.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createReadStream, writeFileSync } from "node:fs";
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";

const s3 = new S3Client({ forcePathStyle: true });
const Bucket = "uploads-from-javascript";
await s3.send(new CreateBucketCommand({ Bucket }));

const content = randomBytes(20 * 1024 * 1024);
writeFileSync("large.bin", content);
const part = content.subarray(0, 1024 * 1024);
writeFileSync("small.bin", part);

const payloads = [];
s3.middlewareStack.add(
  (next) => (step) => {
    payloads.push(step.request.headers["x-amz-content-sha256"]);
    return next(step);
  },
  { step: "finalizeRequest", priority: "low" },
);
const Body = createReadStream("small.bin");
await s3.send(new PutObjectCommand({ Bucket, Key: "small", Body, ContentLength: part.length }));
assert.deepEqual(payloads, ["STREAMING-UNSIGNED-PAYLOAD-TRAILER"]);

const params = { Bucket, Key: "large", Body: createReadStream("large.bin") };
await new Upload({ client: s3, params, partSize: 8 * 1024 * 1024 }).done();

for (const [Key, expected] of [["small", part], ["large", content]]) {
  const found = await s3.send(new GetObjectCommand({ Bucket, Key }));
  assert.ok(Buffer.from(await found.Body.transformToByteArray()).equals(expected), Key);
}
