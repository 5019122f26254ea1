// What the page says of answers, of requests that fail, and of how the run stands.

const EXPIRED = "The session has ended: run the command again and open its link.";
export const LEARNT = "The system has learnt from this answer: it cannot be undone.";
export const KEPT = "Your answer is stored here and will be sent again.";
export const SKIP = "Choose “No answer”, or try again later.";
/** Why an answer is not wanted any more. */
export const OVER = { answered: "This was answered already.", taken: LEARNT, unknown: "This question has ended." };
export const ENDED = {
  done: "All done. Thank you.",
  stopped: "Stopped. Your answers are kept: run the command again with --resume to continue.",
  failed: "The run has failed. Your answers are kept.",
};

/** What is asked where neither the question nor the settings say it. */
export function askOf({ kind, output }) {
  if (kind === "text") return output === undefined ? "Write the text." : "Correct the text.";
  return { number: "Which number?", region: "Who speaks when?", verdict: "Is the output right?" }[kind] ?? "What is this?";
}

/** Why a request has failed. */
export function fault(status, reply) {
  if (status === 0) return "No connection.";
  if (status === 401) return EXPIRED;
  const text = reply.error ?? `The server refuses this (status ${status})`;
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** How things stand while there is no question. */
export function waitingFor(reply, live) {
  if (reply.state !== "open") return ENDED[reply.state] ?? reply.state;
  if (!reply.total) return "The first question will appear in a moment.";
  if (reply.waits) return "Others are answering the last questions. If somebody leaves a question, it appears here.";
  if (live) return "The system is learning. The next question will appear here.";
  return "You have answered everything. Thank you.";
}
