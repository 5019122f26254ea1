// Sounds: fetched and decoded ahead, drawn as a waveform above a spectrogram, played.
import { note } from "./activity.js";

const SIZE = 256; // samples of a Fourier transform
const COLUMNS = 480; // of a spectrogram
const SOFTEST = -60; // decibels: what is not louder is drawn as silence, not as a loud sound
const KEPT = 4; // decoded sounds: this one, the next one, those before
const WINDOW = Float32Array.from({ length: SIZE }, (_, k) => 0.5 - 0.5 * Math.cos((2 * Math.PI * k) / SIZE));
const COSINE = Float32Array.from({ length: SIZE / 2 }, (_, k) => Math.cos((2 * Math.PI * k) / SIZE));
const SINE = Float32Array.from({ length: SIZE / 2 }, (_, k) => -Math.sin((2 * Math.PI * k) / SIZE));

/** Fourier transform in place, of SIZE samples. */
function transform(re, im) {
  for (let i = 1, j = 0; i < SIZE; i++) {
    let bit = SIZE >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [re[i], re[j], im[i], im[j]] = [re[j], re[i], im[j], im[i]];
  }
  for (let half = 1; half < SIZE; half *= 2) {
    const stride = SIZE / (2 * half);
    for (let first = 0; first < SIZE; first += 2 * half) {
      for (let k = 0; k < half; k++) {
        const p = first + k, q = p + half, c = COSINE[k * stride], s = SINE[k * stride];
        const x = re[q] * c - im[q] * s, y = re[q] * s + im[q] * c;
        re[q] = re[p] - x; im[q] = im[p] - y;
        re[p] += x; im[p] += y;
      }
    }
  }
}

/** Level of every frequency in every column, from 0 (80 dB below the loudest) to 255; of several
 *  channels the mean power. */
function levels(channels) {
  const found = new Float32Array((COLUMNS * SIZE) / 2), length = channels[0].length;
  const re = new Float32Array(SIZE), im = new Float32Array(SIZE);
  for (let column = 0; column < COLUMNS; column++) {
    const at = Math.floor((column / COLUMNS) * Math.max(1, length - SIZE));
    for (const samples of channels) {
      im.fill(0);
      for (let i = 0; i < SIZE; i++) re[i] = (samples[at + i] ?? 0) * WINDOW[i];
      transform(re, im);
      for (let k = 0; k < SIZE / 2; k++)
        found[(column * SIZE) / 2 + k] += (re[k] * re[k] + im[k] * im[k]) / channels.length;
    }
  }
  const decibels = found.map((power) => 10 * Math.log10(power + 1e-20));
  const loudest = decibels.reduce((most, value) => Math.max(most, value), SOFTEST);
  return decibels.map((value) => Math.max(0, 255 * (1 + (value - loudest) / 80)));
}

/** Least and greatest sample of all channels in each column of pixels, the loudest being 1. */
function extremes(channels, width) {
  const found = new Float32Array(2 * width), step = channels[0].length / width;
  for (const samples of channels)
    for (let x = 0; x < width; x++) {
      const end = Math.min((x + 1) * step, samples.length); // rounding may lead beyond
      for (let i = Math.floor(x * step); i < end; i += 1 + Math.floor(step / 60)) {
        found[2 * x] = Math.min(found[2 * x], samples[i]);
        found[2 * x + 1] = Math.max(found[2 * x + 1], samples[i]);
      }
    }
  const loudest = found.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
  return found.map((value) => value / loudest);
}

const ready = new Map();

/** A sound, decoded and ready to draw; once for each address. */
export function fetched(address) {
  if (!ready.has(address)) {
    const coming = decoded(address);
    coming.catch(() => ready.delete(address)); // it may be there when it is asked for again
    ready.set(address, coming);
    if (ready.size > KEPT) ready.delete(ready.keys().next().value);
  }
  return ready.get(address);
}

async function decoded(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`status ${response.status}`);
  const data = await response.arrayBuffer();
  const wave = new DataView(data), riff = data.byteLength > 28 && wave.getUint32(0) === 0x52494646;
  const rate = Math.min(Math.max(riff ? wave.getUint32(24, true) : 16000, 8000), 96000);
  const buffer = await new OfflineAudioContext(1, 1, rate).decodeAudioData(data);
  const channels = Array.from({ length: buffer.numberOfChannels }, (_, k) => buffer.getChannelData(k));
  const canvas = document.getElementById("wave");
  return { buffer, levels: levels(channels), extremes: extremes(channels, canvas.width) };
}

const numbers = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

function spectrogram(sound, width, height, look) {
  const image = new ImageData(width, height);
  const quiet = numbers(look("--quiet")), loud = numbers(look("--loud"));
  for (let x = 0; x < width; x++) {
    const column = (Math.floor((x / width) * COLUMNS) * SIZE) / 2;
    for (let y = 0; y < height; y++) {
      const level = sound.levels[column + Math.floor((1 - (y + 1) / height) * (SIZE / 2))] / 255;
      const at = 4 * (y * width + x);
      for (let k = 0; k < 3; k++) image.data[at + k] = quiet[k] + level * level * (loud[k] - quiet[k]);
      image.data[at + 3] = 255;
    }
  }
  return image;
}

/** Draw a sound; times are in seconds of the sound.
 *  `head`: where it plays; `part`: what is asked about; `marks`: boundaries, `clipped` ones thick. */
export function draw(canvas, sound, { head = null, part = null, marks = [] } = {}) {
  const pen = canvas.getContext("2d"), { width, height } = canvas, half = height / 2;
  const style = getComputedStyle(document.documentElement);
  const look = (name) => style.getPropertyValue(name).trim();
  const x = (time) => (time / sound.buffer.duration) * width;
  pen.clearRect(0, 0, width, height);
  if (sound.scheme !== look("--paper")) {
    sound.scheme = look("--paper");
    sound.image = spectrogram(sound, width, half, look);
  }
  pen.putImageData(sound.image, 0, half);
  pen.fillStyle = look("--s0");
  for (let column = 0; column < width; column++) {
    const low = sound.extremes[2 * column], high = sound.extremes[2 * column + 1];
    pen.fillRect(column, (half / 2) * (1 - high), 1, Math.max(1, (half / 2) * (high - low)));
  }
  if (part) {
    pen.globalAlpha = 0.72;
    pen.fillStyle = look("--paper");
    pen.fillRect(0, 0, x(part[0]), height);
    pen.fillRect(x(part[1]), 0, width, height);
    pen.globalAlpha = 1;
  }
  for (const { time, clipped } of marks) {
    pen.fillStyle = look("--bad");
    pen.fillRect(x(time) - (clipped ? 4 : 1.5), 0, clipped ? 8 : 3, height);
  }
  if (head !== null) {
    pen.fillStyle = look("--ink");
    pen.fillRect(x(head) - 1, 0, 2, height);
  }
}

let context = null;
let running = null; // what plays: source, when and where it began, where it ends

/** Where the sound plays, in seconds of it; nothing when none does. */
export function at() {
  if (!running) return null;
  return Math.min(running.to, running.from + context.currentTime - running.since);
}

/** Play a stretch of a sound; `moved` is called as it goes, and when it is over. */
export function play(sound, from, to, moved) {
  hush();
  context ??= new AudioContext();
  context.resume();
  const source = context.createBufferSource();
  source.buffer = sound.buffer;
  source.connect(context.destination);
  const mine = { source, from, to, since: context.currentTime };
  running = mine;
  source.start(0, from, to - from);
  note("play", { at: from });
  source.onended = () => {
    if (running !== mine) return;
    note("ended", { at: at() });
    running = null;
    moved();
  };
  const tick = () => {
    if (running !== mine) return;
    moved();
    requestAnimationFrame(tick);
  };
  tick();
}

/** Stop playing; whether something played. */
export function hush() {
  if (!running) return false;
  note("pause", { at: at() });
  const { source } = running;
  running = null;
  source.stop();
  return true;
}
