// Requests to the server of the page.

/** Post JSON. The status is 0 where there is no connection. */
export async function post(name, body, options = {}) {
  const headers = { "content-type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(body), ...options };
  try {
    const response = await fetch(`/api/${name}`, request);
    return { status: response.status, reply: await response.json().catch(() => ({})) };
  } catch {
    return { status: 0, reply: {} };
  }
}

export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Whether the server will never take this, however often it is sent; a session may come back. */
export const final = (status) => status >= 400 && status < 500 && status !== 401;
