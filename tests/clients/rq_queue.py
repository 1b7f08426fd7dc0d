#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A session with rq, a queue of jobs of Python: jobs that run, fail, come again, wait for others.

usage: rq_queue.py HOST PORT     (tests/clients/run starts a server and calls it)

The jobs are functions of the standard library, so that a worker in this process finds them. Prints
the failures and last `N passed, N failed`.
"""
import logging
import math
import operator
import sys
import traceback
from datetime import timedelta

from redis import Redis
from rq import Queue, Retry, SimpleWorker
from rq.job import JobStatus
from rq.registry import (FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry,
                         StartedJobRegistry)


def work(queue):
    SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level='CRITICAL')


def check_jobs_run_in_order(queue):
    jobs = [queue.enqueue(math.factorial, n) for n in range(20)]
    assert queue.count == 20 and [job.id for job in jobs] == queue.job_ids
    work(queue)
    assert queue.is_empty()
    for n, job in enumerate(jobs):
        assert job.get_status() == JobStatus.FINISHED and job.return_value() == math.factorial(n)
    assert sorted(FinishedJobRegistry(queue=queue).get_job_ids()) == sorted(j.id for j in jobs)
    assert StartedJobRegistry(queue=queue).count == 0


def check_a_job_fails(queue):
    job = queue.enqueue(operator.truediv, 1, 0)
    work(queue)
    assert job.get_status() == JobStatus.FAILED
    assert 'ZeroDivisionError' in job.latest_result().exc_string
    registry = FailedJobRegistry(queue=queue)
    assert registry.get_job_ids() == [job.id]
    registry.requeue(job.id)
    assert queue.job_ids == [job.id]


def check_a_job_is_tried_again(queue):
    job = queue.enqueue(operator.truediv, 1, 0, retry=Retry(max=2))
    work(queue)
    assert job.get_status() == JobStatus.FAILED
    job.refresh()
    assert job.retries_left == 0


def check_a_job_waits_for_others(queue):
    first = queue.enqueue(math.sqrt, 16)
    then = queue.enqueue(math.sqrt, 9, depends_on=[first])
    assert then.get_status() == JobStatus.DEFERRED and queue.count == 1
    work(queue)
    assert then.return_value() == 3.0


def check_a_job_is_for_later(queue):
    job = queue.enqueue_in(timedelta(hours=1), math.sqrt, 4)
    registry = ScheduledJobRegistry(queue=queue)
    assert job.id in registry and queue.count == 0
    registry.remove(job)
    assert registry.count == 0


def check_jobs_are_taken_back(queue):
    jobs = [queue.enqueue(math.sqrt, n) for n in range(10)]
    jobs[3].cancel()
    jobs[4].delete()
    assert queue.count == 8
    assert queue.empty() == 8 and queue.is_empty()
    queue.enqueue(math.sqrt, 1)
    queue.delete(delete_jobs=True)
    assert queue.connection.keys('rq:job:*') in ([], [b'rq:job:' + jobs[3].id.encode()])


def check_many_at_once(queue):
    data = [Queue.prepare_data(math.sqrt, (n * n,)) for n in range(50)]
    jobs = queue.enqueue_many(data)
    work(queue)
    assert [job.return_value() for job in jobs] == [float(n) for n in range(50)]


def main():
    logging.disable(logging.CRITICAL)
    passed = failed = 0
    connection = Redis(host=sys.argv[1], port=int(sys.argv[2]), socket_timeout=20)
    for name, check in list(globals().items()):
        if not name.startswith('check_'):
            continue
        connection.flushall()
        try:
            check(Queue('jobs', connection=connection))
            passed += 1
        except Exception:  # noqa: BLE001
            failed += 1
            print(f'FAIL  rq: {name[6:]}\n{traceback.format_exc()}')
    connection.flushall()
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
